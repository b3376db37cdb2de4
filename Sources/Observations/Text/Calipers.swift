/// Rotating calipers (Toussaint 1983) around a convex polygon, in 32-bit numbers: two pairs of parallel lines that turn
/// around it, from edge to edge.
struct Calipers {
    private let points: [SIMD2<Float>]
    /// The edge from each vertex to the next.
    private let edges: [SIMD2<Float>]
    private let inverseLengths: [Float]

    /// A rectangle around the polygon with a side on one of its edges: a corner, and the sides that begin there.
    struct Fit {
        let corner: SIMD2<Float>, across: SIMD2<Float>, down: SIMD2<Float>
    }

    /// Nil for polygons without an area.
    init?(_ hull: [PlanePoint]) {
        guard hull.count > 2 else { return nil }
        // Which of equal rectangles is found depends on the first vertex: OpenCV's hulls begin at the right.
        let start = hull.indices.max { (hull[$0].x, hull[$0].y) < (hull[$1].x, hull[$1].y) } ?? 0
        let points = (hull[start...] + hull[..<start]).map { SIMD2(Float($0.x), Float($0.y)) }
        self.points = points
        edges = points.indices.map { points[($0 + 1) % points.count] - points[$0] }
        inverseLengths = edges.map { edge in
            let (x, y) = (Double(edge.x), Double(edge.y))
            return Float(1 / (x * x + y * y).squareRoot())
        }
    }

    /// The rectangle of the smallest area, the last of equal ones.
    func smallest() -> Fit? {
        // The vertices on the four lines: top, right, bottom, left, as seen on a screen.
        func first(_ isBefore: (SIMD2<Float>, SIMD2<Float>) -> Bool) -> Int {
            points.indices.min { isBefore(points[$0], points[$1]) } ?? 0
        }
        var touching = [first { $0.y < $1.y }, first { $0.x > $1.x }, first { $0.y > $1.y }, first { $0.x < $1.x }]
        var best: (area: Float, left: Int, top: Int, across: SIMD2<Float>, width: Float, height: Float)?
        for _ in points.indices {
            // The line that meets the next edge first, when all turn.
            var next = 0
            for line in 1..<4 {
                let one = Self.turned(edges[touching[line]], line), other = Self.turned(edges[touching[next]], next)
                if one.y * other.x + -one.x * other.y < 0 { next = line }
            }
            let edge = touching[next]
            let across = Self.turned(edges[edge] * inverseLengths[edge], next)
            touching[next] = (edge + 1) % points.count
            let horizontal = points[touching[1]] - points[touching[3]]
            let vertical = points[touching[2]] - points[touching[0]]
            let width = horizontal.x * across.x + horizontal.y * across.y
            let height = -vertical.x * across.y + vertical.y * across.x
            let area = width * height
            if area <= best?.area ?? .infinity { best = (area, touching[3], touching[0], across, width, height) }
        }
        guard let best else { return nil }
        // The corner where the lines through the left and the top vertex meet.
        let across = best.across, down = SIMD2(-across.y, across.x)
        let left = across.x * points[best.left].x + points[best.left].y * across.y
        let top = down.x * points[best.top].x + points[best.top].y * down.y
        let scale = 1 / (across.x * down.y - down.x * across.y)
        return Fit(
            corner: SIMD2((left * down.y - top * across.y) * scale, (across.x * top - down.x * left) * scale),
            across: across * best.width, down: down * best.height)
    }

    /// A vector turned back by quarter turns, so that edges on all four lines can be compared.
    private static func turned(_ vector: SIMD2<Float>, _ quarterTurns: Int) -> SIMD2<Float> {
        switch quarterTurns {
        case 0: vector
        case 1: SIMD2(vector.y, -vector.x)
        case 2: -vector
        default: SIMD2(-vector.y, vector.x)
        }
    }
}
