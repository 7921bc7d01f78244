# bash completion for git nexus: git's own completion calls _git_nexus for `git nexus <TAB>`.

__git_nexus_reply() {
	local line
	COMPREPLY=()
	while IFS= read -r line; do
		case $line in
		plain,*) COMPREPLY+=("${line#plain,}") ;;
		dir,*) compopt -o dirnames 2>/dev/null ;;
		file,*) compopt -o default 2>/dev/null ;;
		esac
	done < <(COMP_WORDS="git-nexus $1" COMP_CWORD=$2 _GIT_NEXUS_COMPLETE=bash_complete git-nexus 2>/dev/null)
}

_git_nexus() {
	local at=1
	while ((at < cword)) && [[ ${words[at]} != nexus ]]; do
		((at++))
	done
	__git_nexus_reply "${words[*]:at+1}" "$((cword - at))"
}

__git_nexus_direct() {
	__git_nexus_reply "${COMP_WORDS[*]:1}" "$COMP_CWORD"
}

complete -F __git_nexus_direct git-nexus
