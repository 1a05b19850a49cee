/// The part of `Disk` that the files for Apple platforms need.
package enum Disk {
    package struct Failure: Error, Hashable { package let number: Int32 }

    package static func sync(_ path: String) throws(Failure) {}
}
