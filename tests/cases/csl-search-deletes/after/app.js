const a = 1;

function add() {
  return a + b;
}
