int f;
if (a < b) x();
