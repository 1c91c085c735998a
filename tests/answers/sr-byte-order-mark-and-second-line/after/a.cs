using System;
class B {}
