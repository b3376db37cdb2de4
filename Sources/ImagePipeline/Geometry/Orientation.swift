/// The directions of the stored axes in the oriented picture (EXIF 2.32, tag 0x0112).
struct Orientation: Hashable {
    /// Stored rows are columns of the oriented picture.
    let transposes: Bool
    /// Going along the stored x axis goes backwards in the oriented picture.
    let flipsX: Bool
    /// Going along the stored y axis goes backwards in the oriented picture.
    let flipsY: Bool

    /// Of a value of 1 to 8; any other is taken as 1.
    init(exif: Int) {
        transposes = (5...8).contains(exif)
        flipsX = [2, 3, 7, 8].contains(exif)
        flipsY = [3, 4, 6, 7].contains(exif)
    }
}
