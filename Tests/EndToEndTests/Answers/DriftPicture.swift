import Foundation
import TestSupport

/// Pictures of drawn digits as a camera sees them, as PPM of 64 x 64 pixels: each with its own place, light and noise.
/// And changes of the camera, at about the strength of severity 3 of `imagecorruptions`.
struct DriftPicture {
    /// A change of the camera, or of the things before it.
    enum Change: String, CaseIterable, Sendable {
        case none, blur, noise, brighter, cast, covered, mix
    }

    static let side = 64

    private var random: SplitMix

    init(seed: UInt64) { random = SplitMix(seed: seed) }

    /// The next picture.
    mutating func next(_ change: Change) -> Data {
        // Zeros, ones and sevens are equally frequent; after a change of the mix, most are zeros.
        let kind = change == .mix && uniform() < 0.9 ? 0 : Int(uniform() * 3)
        var levels = drawn(kind)
        if change == .blur { levels = Self.blurred(Self.blurred(levels)) }
        let deviation = change == .noise ? 45.0 : 4
        var bytes = Array("P6 \(Self.side) \(Self.side) 255\n".utf8)
        for (index, level) in levels.enumerated() {
            for factor in change == .cast ? [0.9, 0.75, 0.4] : [1.0, 1, 1] {
                var value = level * factor + (change == .brighter ? 70 : 0)
                // A hand before the lens: dark, and nearly even.
                if change == .covered { value = 12 + 0.05 * level + Double(index % Self.side) / 16 }
                // The sum of three uniform numbers has the deviation 0.5.
                value += deviation * 2 * (uniform() + uniform() + uniform() - 1.5)
                bytes.append(UInt8(max(0, min(255, value.rounded()))))
            }
        }
        return Data(bytes)
    }

    private mutating func uniform() -> Double { Double.random(in: 0..<1, using: &random) }

    /// A dark digit on light ground.
    private mutating func drawn(_ kind: Int) -> [Double] {
        let x = 26 + 12 * uniform(), y = 26 + 12 * uniform(), size = 14 + 5 * uniform(), width = 2.5 + uniform()
        let ground = 165 + 30 * uniform(), ink = 30 + 30 * uniform()
        var levels: [Double] = []
        for row in 0..<Self.side {
            for column in 0..<Self.side {
                let across = (Double(column) - x) / size, down = (Double(row) - y) / size
                let distance: Double =
                    switch kind {
                    case 0: abs((across * across / 0.4 + down * down).squareRoot() - 1) * 0.7
                    case 1: abs(down) <= 1 ? abs(across) : 1
                    default:
                        min(
                            abs(across) <= 0.7 ? abs(down + 0.95) : 1,
                            abs(down) <= 1 ? abs(across - 0.35 + 0.35 * down) : 1)
                    }
                levels.append(distance * size <= width ? ink : ground)
            }
        }
        return levels
    }

    /// Each pixel becomes the mean of the 25 around it.
    private static func blurred(_ levels: [Double]) -> [Double] {
        (0..<side * side).map { index in
            let rows = max(0, index / side - 2)...min(side - 1, index / side + 2)
            let columns = max(0, index % side - 2)...min(side - 1, index % side + 2)
            var sum = 0.0
            for row in rows { for column in columns { sum += levels[row * side + column] } }
            return sum / Double(rows.count * columns.count)
        }
    }
}
