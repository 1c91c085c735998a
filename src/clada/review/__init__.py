"""Looking at a plan in the browser: choosing, carrying out, undoing. A front end on the public API alone."""
