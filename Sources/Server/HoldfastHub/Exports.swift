// Whoever runs a hub needs the words of rooms and of servers too.
@_exported public import HoldfastServer
@_exported public import RoomCore
