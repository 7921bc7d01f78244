#!/bin/sh
# get-git.sh DIR [MIN]: put a private git (at least MIN, or 2.54) into DIR and print the path of its `git`.
# It comes from a younger suite of the Debian archive that this machine's apt already uses, with the C library that
# it was built for. The system's git, its package lists and its apt configuration are left alone.
set -eu

say() { printf 'get-git: %s\n' "$*" >&2; }

[ $# -ge 1 ] || {
	say "usage: get-git.sh DIR [MIN]"
	exit 2
}
mkdir -p -- "$1"
dest=$(cd -- "$1" && pwd -P)
least=${2:-2.54}
case $dest in
*[:\;\'\"]*)
	say "no colon, semicolon or quote may stand in $dest"
	exit 2
	;;
esac

new_enough() { # PROGRAM
	shown=$("$1" version 2>/dev/null) || return 1
	shown=${shown#git version }
	dpkg --compare-versions "${shown%% *}" ge "$least"
}

if [ -x "$dest/bin/git" ] && new_enough "$dest/bin/git"; then
	echo "$dest/bin/git"
	exit 0
fi

work=$(mktemp -d "$dest/.work.XXXXXX")
trap 'rm -rf -- "$work"' EXIT
architecture=$(dpkg --print-architecture)

archive() { # the URL that serves this release's main archive to the machine's own apt
	release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
	apt-get update --print-uris 2>/dev/null |
		sed -n "s|^'\([^']*\)/dists/${release:-stable}/\(In\)\{0,1\}Release'.*|\1|p" |
		grep -vi security | sed -n 1p
}

private_apt() { # FOLDER SUITE: an apt of its own, which takes over only how this machine reaches its archive
	mkdir -p "$1/parts" "$1/lists/partial" "$1/archives/partial" "$1/deb"
	: >"$1/status"
	keys=/usr/share/keyrings/debian-archive-keyring.gpg
	signed=
	[ ! -r $keys ] || signed="[signed-by=$keys] "
	echo "deb $signed$mirror $2 main" >"$1/sources.list"
	{
		apt-config dump 2>/dev/null | grep -E '^Acquire::(https?|Retries|ForceIPv[46]|Check-)' || :
		printf '%s "%s";\n' \
			Dir::Etc::main /dev/null Dir::Etc::parts "$1/parts" \
			Dir::Etc::sourcelist "$1/sources.list" Dir::Etc::sourceparts "$1/parts" \
			Dir::Etc::preferences /dev/null Dir::Etc::preferencesparts "$1/parts" \
			Dir::State "$1" Dir::State::status "$1/status" Dir::Cache "$1" \
			Acquire::Languages none APT::Sandbox::User root \
			APT::Architecture "$architecture" APT::Architectures "$architecture"
	} >"$1/apt.conf"
	export APT_CONFIG="$1/apt.conf"
}

libraries() { # what the main program links to: neither http nor perl is needed here
	apt-cache depends --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances git |
		sed -n 's/^ *Depends: \(lib[^ ]*\|zlib[^ ]*\)$/\1/p' | grep -v -e '-perl$' -e curl -e expat
}

unpack() { # FOLDER_OF_PACKAGES ROOT
	for package in "$1"/*.deb; do
		dpkg-deb --fsys-tarfile "$package" | tar -x -C "$2" --no-same-owner --exclude=./usr/share/doc \
			--exclude=./usr/share/locale --exclude=./usr/share/man --exclude='./usr/lib/*/gconv' --exclude='*/contrib'
	done
}

# Every compiled program moves to real/ and a script of its name starts it with the loader and the libraries that came
# along: git puts its own folder first on PATH, so what git starts is wrapped too.
wrap() { # ROOT
	libc=$(find "$1" -name libc.so.6 | sed -n 1p)
	folder=${libc%/*}
	loader=$(find "$folder" -maxdepth 1 -name 'ld-linux*.so*' | sed -n 1p)
	mkdir "$1/real"
	for program in "$1"/usr/lib/git-core/*; do
		if [ ! -f "$program" ] || [ -L "$program" ]; then continue; fi
		[ "$(head -c4 "$program" | od -An -c | tr -d ' \n')" = 177ELF ] || continue
		name=${program##*/}
		mv "$program" "$1/real/$name"
		cat >"$program" <<-SCRIPT
			#!/bin/sh
			export GIT_EXEC_PATH='$dest/root/usr/lib/git-core'
			exec '$dest/root${loader#"$1"}' --argv0 "\$0" --library-path '$dest/root${folder#"$1"}' \\
				'$dest/root/real/$name' "\$@"
		SCRIPT
		chmod 755 "$program"
	done
}

from_suite() { # SUITE: true if its git is new enough, was installed and runs
	place=$work/$1
	private_apt "$place" "$1"
	apt-get -qq update >&2 || {
		say "$1: no package lists"
		return 1
	}
	version=$(apt-cache madison git | sed -n '1s/^[^|]*| *\([^ |]*\).*/\1/p')
	if [ -z "$version" ] || ! dpkg --compare-versions "${version#*:}" ge "$least"; then
		say "$1: git ${version:-is not there}"
		return 1
	fi
	# shellcheck disable=SC2046 # one word a package
	(cd "$place/deb" && apt-get -qq download git $(libraries) >&2) || {
		say "$1: the packages could not be fetched"
		return 1
	}
	mkdir "$place/root"
	unpack "$place/deb" "$place/root"
	wrap "$place/root"
	rm -rf -- "${dest:?}/root" "${dest:?}/bin"
	mv "$place/root" "$dest/root"
	mkdir "$dest/bin"
	for name in git git-upload-pack git-receive-pack git-upload-archive; do
		ln -s "../root/usr/lib/git-core/$name" "$dest/bin/$name"
	done
	new_enough "$dest/bin/git" || {
		say "$1: git $version does not run here"
		return 1
	}
}

mirror=$(archive)
[ -n "$mirror" ] || {
	say "this machine's apt knows no Debian archive"
	exit 1
}
for suite in sid testing experimental; do
	if from_suite "$suite"; then
		say "$("$dest/bin/git" version) from $suite"
		echo "$dest/bin/git"
		exit 0
	fi
done
say "no git of at least $least found"
exit 1
