#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

/// Functions that weigh source pixels by their distance from an output's centre: those of Pillow's Resample.c, in
/// double precision and in its order of operations, so that the last bits agree.
extension Resampler {
    /// The radius of the filter, in source pixels when the picture is not reduced.
    var support: Double {
        switch self {
        case .nearest, .box, .area: 0.5
        case .bilinear, .hamming, .linear: 1
        case .bicubic: 2
        case .lanczos: 3
        }
    }

    /// The weight of a pixel at this signed distance between its centre and the output's.
    func weight(_ distance: Double) -> Double {
        let x = abs(distance)
        switch self {
        case .nearest, .area:
            return 1
        case .box:
            // Half open: a pixel between two outputs belongs to one of them.
            return distance > -0.5 && distance <= 0.5 ? 1 : 0
        case .bilinear, .linear:
            return x < 1 ? 1 - x : 0
        case .hamming:
            if x == 0 { return 1 }
            if x >= 1 { return 0 }
            let angle = x * Double.pi
            // Pillow's constants have single precision.
            return sin(angle) / angle * (Double(0.54 as Float) + Double(0.46 as Float) * cos(angle))
        case .bicubic:
            let a = -0.5
            if x < 1 { return ((a + 2) * x - (a + 3)) * x * x + 1 }
            if x < 2 { return (((x - 5) * x + 8) * x - 4) * a }
            return 0
        case .lanczos:
            return distance >= -3 && distance < 3 ? Self.sinc(distance) * Self.sinc(distance / 3) : 0
        }
    }

    private static func sinc(_ x: Double) -> Double {
        if x == 0 { return 1 }
        let angle = x * Double.pi
        return sin(angle) / angle
    }
}
