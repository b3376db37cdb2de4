/// A colour of 8 bits per channel, without a colour space: the numbers that the model sees.
public struct RGBColor: Sendable, Hashable, Codable {
    /// 0 to 255.
    public var red: UInt8
    /// 0 to 255.
    public var green: UInt8
    /// 0 to 255.
    public var blue: UInt8

    /// Creates a colour.
    public init(red: UInt8, green: UInt8, blue: UInt8) {
        self.red = red
        self.green = green
        self.blue = blue
    }

    /// 255, 255, 255.
    public static let white = RGBColor(red: 255, green: 255, blue: 255)
    /// 0, 0, 0.
    public static let black = RGBColor(red: 0, green: 0, blue: 0)
}
