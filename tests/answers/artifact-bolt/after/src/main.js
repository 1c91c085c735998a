console.log("a < b && c");
