import HoldfastRooms
import RoomCore

extension DeliveryStage {
    /// Whether it waits for somebody to retry or discard it.
    var isFailed: Bool { if case .failed(let failure) = self { failure != .discarded } else { false } }
}
