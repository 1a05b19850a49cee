// A program that runs a hub also needs the types of rooms and of servers.
@_exported public import HoldfastServer
@_exported public import RoomCore
