"""Find secrets and personal details in a session, and write it again without them."""
