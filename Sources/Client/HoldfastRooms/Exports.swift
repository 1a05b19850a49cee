// `import HoldfastRooms` also gives the app the room types (entries, receipts) and the socket below.
@_exported public import Holdfast
@_exported public import RoomCore
