"""`python -m gitnexus`."""

from gitnexus.main import main

main()
