"use strict";
// A token behind the "#" of the address, as `quarry console` prints it, logs in
// by itself. It never reaches a server's log: browsers do not send that part.
const token = decodeURIComponent(location.hash.slice(1));
if (token) {
    history.replaceState(null, "", location.pathname + location.search);
    document.getElementById("token").value = token;
    document.getElementById("login").submit();
}
