/// Limits on pictures, checked against the header before anything is allocated.
public struct ImageLimits: Sendable, Hashable {
    /// The maximum of stored width times height.
    public var maxPixels: Int
    /// The maximum memory in addition to the compressed bytes. Rows are streamed, so only pictures that must be decoded
    /// as a whole can come near it: progressive JPEG (2 bytes per coefficient), interlaced PNG, and WebP (4 bytes per
    /// pixel of the needed part).
    public var maxBytes: Int
    /// The maximum number of scans of a JPEG. Progressive encoders write about ten; each is a pass over the whole
    /// picture. For large pictures the limit is lower (``scans(ofPixels:)``).
    public var maxScans: Int
    /// Decode the available part of truncated or damaged data instead of refusing it.
    public var tolerateTruncation: Bool
    /// The enabled formats; others are refused.
    public var formats = Set(ImageFormat.allCases)

    /// Creates limits.
    public init(
        maxPixels: Int = 64_000_000, maxBytes: Int = 512 << 20, maxScans: Int = 100, tolerateTruncation: Bool = false
    ) {
        self.maxPixels = maxPixels
        self.maxBytes = maxBytes
        self.maxScans = maxScans
        self.tolerateTruncation = tolerateTruncation
    }

    /// The maximum number of scans of a picture with this many pixels: `maxScans`, but at most the work of 20 scans of
    /// the largest picture; at least 20, which is more than encoders write.
    public func scans(ofPixels pixels: Int) -> Int {
        let (work, overflow) = maxPixels.multipliedReportingOverflow(by: 20)
        return min(maxScans, max(20, overflow ? maxScans : work / max(1, pixels)))
    }
}
