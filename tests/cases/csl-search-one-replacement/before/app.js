const a = 1;
const b = 2;

function add() {
  return a + b;
}
