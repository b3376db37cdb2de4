/// The directions of the stored axes in the oriented picture (EXIF 2.32, tag 0x0112).
struct Orientation: Hashable {
    /// True if stored rows are columns of the oriented picture.
    let transposes: Bool
    /// True if the stored x axis is reversed in the oriented picture.
    let flipsX: Bool
    /// True if the stored y axis is reversed in the oriented picture.
    let flipsY: Bool

    /// The orientation for an EXIF value of 1 to 8; other values count as 1.
    init(exif: Int) {
        transposes = (5...8).contains(exif)
        flipsX = [2, 3, 7, 8].contains(exif)
        flipsY = [3, 4, 6, 7].contains(exif)
    }
}
