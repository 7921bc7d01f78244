"""What a hostile agent, collaborator or remote tries; a line each stands in docs/explanation/threat-model.md."""
