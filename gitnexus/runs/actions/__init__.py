"""Actions of a run: proposed, approved or denied, executed and committed."""
