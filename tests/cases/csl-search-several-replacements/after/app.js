let a = 1;
let b = 2;

function add() {
  return a + b;
}
