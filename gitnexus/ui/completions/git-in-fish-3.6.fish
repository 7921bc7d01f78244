# fish 3.6 forgets to ask git's own extensions for their completions (fish-shell issue 9457); others do it twice.
complete -c git -f -n '__fish_git_using_command nexus' -a '(__fish_git_complete_custom_command nexus)'
