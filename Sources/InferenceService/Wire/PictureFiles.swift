/// Pictures that inputs name as files.
package struct PictureFiles: Sendable {
    /// The reason a file cannot be read: a sentence that does not name it.
    package struct Unreadable: Error, Sendable {
        let reason: String
        package init(_ reason: String) { self.reason = reason }
    }

    /// The bytes of a file, or a sentence that does not name it again. Blocks.
    let read: @Sendable (String) -> Result<[UInt8], Unreadable>

    package init(_ read: @escaping @Sendable (String) -> Result<[UInt8], Unreadable>) { self.read = read }
}
