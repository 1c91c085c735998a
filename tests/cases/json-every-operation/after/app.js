const a = 1;


// gone
