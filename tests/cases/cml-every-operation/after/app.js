let a = 1;
let b = 3;

function add() {
  return a + b;
}
