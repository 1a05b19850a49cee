import Dispatch

extension DispatchQueue {
    /// Does something on the queue; returns when that is done.
    func turn(_ work: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { done in
            async {
                work()
                done.resume()
            }
        }
    }
}
