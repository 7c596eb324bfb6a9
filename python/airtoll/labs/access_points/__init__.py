"""Access points and stations of real hosts, whose security airtoll switches.

- `base`: a network, and the interface of every kind of access point
- `hostapd`: hostapd on a host that an agent serves
- `openwrt`: the settings of OpenWrt, changed by uci and restored
- `openwrt_guard`: what restores them on the router itself, without airtoll
- `hook`: a command of the user
- `prompt`: the user, who sets the access point by hand
- `fixed`: an access point that nobody switches
- `station`: a station that joins the network, and its report of the negotiated settings
- `lending`: the wireless interface of a host, lent by NetworkManager for a measurement

An access point registers each change in the journal (`airtoll.labs.journal`) before it makes the change.
"""
