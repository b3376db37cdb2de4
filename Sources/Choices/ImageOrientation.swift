/// The orientation of a stored picture: the treatment of the orientation in its file, or an orientation by Core
/// Graphics' names (`CGImagePropertyOrientation`), which replaces that in the file.
public enum ImageOrientation: String, Sendable, Hashable, CaseIterable, Codable {
    /// The orientation in the file is applied.
    case apply
    /// The pixels are used as stored.
    case ignore
    /// EXIF 1: as displayed.
    case up
    /// EXIF 2: left and right are exchanged.
    case upMirrored = "up_mirrored"
    /// EXIF 3: turned by 180 degrees.
    case down
    /// EXIF 4: top and bottom are exchanged.
    case downMirrored = "down_mirrored"
    /// EXIF 5: rows and columns are exchanged.
    case leftMirrored = "left_mirrored"
    /// EXIF 6: the first stored row is the right side of the displayed picture.
    case right
    /// EXIF 7: rows and columns are exchanged, and both directions reversed.
    case rightMirrored = "right_mirrored"
    /// EXIF 8: the first stored row is the left side of the displayed picture.
    case left

    /// The orientations by their numbers in EXIF, from 1.
    private static let numbered: [ImageOrientation] = [
        .up, .upMirrored, .down, .downMirrored, .leftMirrored, .right, .rightMirrored, .left,
    ]

    /// An orientation by its number in EXIF, 1 to 8; nil for other numbers. UIImage's numbers differ: 0 is `up` there.
    public init?(exif: Int) {
        guard (1...8).contains(exif) else { return nil }
        self = Self.numbered[exif - 1]
    }

    /// An orientation as text: a number of EXIF or a name. Nil for other text.
    public init?(text: String) {
        if let named = Self(rawValue: text) {
            self = named
        } else if text.utf8.count == 1, let byte = text.utf8.first, (0x31...0x38).contains(byte) {
            self = Self.numbered[Int(byte - 0x31)]
        } else {
            return nil
        }
    }

    /// The number in EXIF; nil if it depends on the file.
    public var exif: Int? { Self.numbered.firstIndex(of: self).map { $0 + 1 } }

    /// The number that is used for a file.
    /// - Parameter stored: the number in the file.
    public func used(of stored: Int) -> Int {
        switch self {
        case .apply: stored
        case .ignore: 1
        default: exif ?? stored
        }
    }

    /// All texts.
    package static let texts =
        [Self.apply, .ignore].map(\.rawValue) + (1...8).map { "\($0)" } + numbered.map(\.rawValue)

    /// All texts, for messages.
    package static let expected =
        "\"apply\", \"ignore\", a number of EXIF from 1 to 8, or one of "
        + numbered.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
}
