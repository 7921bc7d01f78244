"""The index of tasks in all projects: word lists and postings, refreshed when a project changed."""
