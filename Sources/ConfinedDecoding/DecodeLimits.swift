/// The limits of a decoding process, which depend on the size of the file and on the stated number of pixels.
///
/// The time limits are above the needs of pictures: 0.05 to 0.5 µs per pixel on one core of a server.
package struct DecodeLimits: Sendable {
    /// The size of the file in bytes.
    package let bytes: Int
    /// The maximum of wall-clock and of processor time for any picture, in seconds.
    package let seconds: Int

    package init(bytes: Int, seconds: Int) {
        self.bytes = bytes
        self.seconds = seconds
    }

    /// The private memory for reading the header, in bytes. Libraries copy the file, some of them twice.
    package var memoryToOpen: Int { 32 << 20 + 2 * bytes }

    /// The processor time for reading the header, in seconds.
    package var secondsToOpen: Int { min(seconds, 1 + bytes >> 24) }

    /// The processor time for header and pixels, in seconds.
    package func seconds(ofPixels pixels: Int) -> Int { min(seconds, secondsToOpen + 1 + pixels / 1_000_000) }

    /// The wall-clock time for header and pixels, in seconds. It is longer because other processes may use most of the
    /// processors.
    package func clockSeconds(ofPixels pixels: Int) -> Int {
        min(seconds, max(1, seconds / 3) + pixels / 1_000_000)
    }
}
