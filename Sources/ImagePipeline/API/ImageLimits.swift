/// Limits on pictures, checked against the header before anything is allocated.
public struct ImageLimits: Sendable, Hashable {
    /// Stored width times height.
    public var maxPixels: Int
    /// Memory beyond the compressed bytes. Rows stream through, so that only pictures that must be held whole come near it:
    /// progressive JPEG (2 bytes a coefficient), interlaced PNG and WebP (4 bytes a pixel that is kept).
    public var maxBytes: Int
    /// Scans of a JPEG. Encoders of progressive ones write about ten; each costs a walk over the whole picture. Of a large picture
    /// fewer are taken: see ``scans(ofPixels:)``.
    public var maxScans: Int
    /// Decode the available part of truncated or damaged data instead of refusing it.
    public var tolerateTruncation: Bool

    /// Creates limits.
    public init(
        maxPixels: Int = 64_000_000, maxBytes: Int = 512 << 20, maxScans: Int = 100, tolerateTruncation: Bool = false
    ) {
        self.maxPixels = maxPixels
        self.maxBytes = maxBytes
        self.maxScans = maxScans
        self.tolerateTruncation = tolerateTruncation
    }

    /// The scans that a picture of so many pixels may have: `maxScans`, but no more work than 20 scans of the largest
    /// picture would be; at least 20, which every encoder stays under.
    public func scans(ofPixels pixels: Int) -> Int {
        let (work, overflow) = maxPixels.multipliedReportingOverflow(by: 20)
        return min(maxScans, max(20, overflow ? maxScans : work / max(1, pixels)))
    }
}
