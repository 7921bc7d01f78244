# fish completion for git nexus: fish's own completion for git asks for `git-nexus` on `git nexus <TAB>`.

function __git_nexus_complete
    set -l answer (COMP_WORDS=(commandline -cp) COMP_CWORD=(commandline -t) _GIT_NEXUS_COMPLETE=fish_complete git-nexus 2>/dev/null)
    for line in $answer
        set -l parts (string split -m 1 , -- $line)
        switch $parts[1]
            case plain
                echo $parts[2]
            case dir
                __fish_complete_directories $parts[2]
            case file
                __fish_complete_path $parts[2]
        end
    end
end

complete -c git-nexus -f -a '(__git_nexus_complete)'
