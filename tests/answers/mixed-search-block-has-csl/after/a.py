<---WRITE file="no.txt"--->
hi
<---END--->
