// An app writes `import HoldfastRooms` and has rooms, entries, receipts, and the socket below.
@_exported public import Holdfast
@_exported public import RoomCore
