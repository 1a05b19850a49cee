// The system's C library; the module has to exist for `#if canImport(Darwin)`, too. Each below its page of the manual.
// fopen(3), fread(3), ferror(3)
public struct FILE {}
public func fopen(_ path: UnsafePointer<CChar>!, _ mode: UnsafePointer<CChar>!) -> UnsafeMutablePointer<FILE>! { fatalError() }
@discardableResult public func fclose(_ stream: UnsafeMutablePointer<FILE>!) -> Int32 { fatalError() }
public func fread(_ ptr: UnsafeMutableRawPointer!, _ size: Int, _ nitems: Int, _ stream: UnsafeMutablePointer<FILE>!) -> Int { fatalError() }
public func ferror(_ stream: UnsafeMutablePointer<FILE>!) -> Int32 { fatalError() }
// time(3)
public typealias time_t = Int
public func time(_ tloc: UnsafeMutablePointer<time_t>!) -> time_t { fatalError() }
