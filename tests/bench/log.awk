# The questions of log.szl.
{ split($0, q, "\""); split(q[2], r, " "); split(q[3], s, " "); n[s[1]]++; b[s[1]] += s[2]; p[r[2]]++; ip[$1] = 1 }
END { for (i in n) print i, n[i], b[i]; for (i in p) print p[i], i | "sort -rn | head -20"; c = 0; for (i in ip) c++; print c }
