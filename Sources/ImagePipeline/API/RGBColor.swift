/// A colour with 8 bits per channel, without a colour space: the numbers are passed to the model as they are.
public struct RGBColor: Sendable, Hashable, Codable {
    /// The red level.
    public var red: UInt8
    /// The green level.
    public var green: UInt8
    /// The blue level.
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
