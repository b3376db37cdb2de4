/// The limits of the process that decodes a picture, by the size of the file and by the number of pixels that it
/// states.
///
/// Those of time are far above what pictures take: on one core of a server, 0.05 to 0.5 µs a pixel.
package struct DecodeLimits: Sendable {
    /// Bytes of the file.
    package let bytes: Int
    /// Seconds that no picture may exceed, of the clock and of a processor.
    package let seconds: Int

    package init(bytes: Int, seconds: Int) {
        self.bytes = bytes
        self.seconds = seconds
    }

    /// Bytes of private memory for reading the header: libraries copy the file, and some twice.
    package var memoryToOpen: Int { 32 << 20 + 2 * bytes }

    /// Seconds of a processor for reading the header.
    package var secondsToOpen: Int { min(seconds, 1 + bytes >> 24) }

    /// Seconds of a processor for header and pixels.
    package func seconds(ofPixels pixels: Int) -> Int { min(seconds, secondsToOpen + 1 + pixels / 1_000_000) }

    /// Seconds of the clock for header and pixels: others may have most of the processors.
    package func clockSeconds(ofPixels pixels: Int) -> Int {
        min(seconds, max(1, seconds / 3) + pixels / 1_000_000)
    }
}
