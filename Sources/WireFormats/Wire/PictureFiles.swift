/// Reads pictures that inputs name as files.
package struct PictureFiles: Sendable {
    /// The reason why a file cannot be read, without its name.
    package struct Unreadable: Error, Sendable {
        package let reason: String
        package init(_ reason: String) { self.reason = reason }
    }

    /// The bytes of a file, or the reason without its name. Blocks.
    package let read: @Sendable (String) -> Result<[UInt8], Unreadable>

    package init(_ read: @escaping @Sendable (String) -> Result<[UInt8], Unreadable>) { self.read = read }
}
