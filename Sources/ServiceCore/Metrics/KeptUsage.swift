/// The kept pictures at present, for metrics.
package struct KeptUsage: Sendable {
    package let pictures: Int
    /// The bytes of all files.
    package let bytes: Int

    package init(pictures: Int, bytes: Int) {
        self.pictures = pictures
        self.bytes = bytes
    }
}
