"""The commands about runs: `git nexus run`, `resume`, `review`, `approve` and so on, a file each."""
