good
