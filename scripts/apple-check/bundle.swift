import Foundation

extension Bundle {
    static let module = Bundle.main
}
