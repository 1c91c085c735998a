// Licence
using System;
class A {}
