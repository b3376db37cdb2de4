/// A point of a plane with the y axis downwards, in pixels.
package struct PlanePoint: Sendable, Hashable {
    package var x: Double, y: Double

    package init(x: Double, y: Double) { (self.x, self.y) = (x, y) }

    static func - (a: PlanePoint, b: PlanePoint) -> PlanePoint { PlanePoint(x: a.x - b.x, y: a.y - b.y) }
    static func + (a: PlanePoint, b: PlanePoint) -> PlanePoint { PlanePoint(x: a.x + b.x, y: a.y + b.y) }
    static func * (a: PlanePoint, factor: Double) -> PlanePoint { PlanePoint(x: a.x * factor, y: a.y * factor) }

    /// The length of the vector.
    package var length: Double { (x * x + y * y).squareRoot() }
    /// The distance of two points.
    package static func distance(_ a: PlanePoint, _ b: PlanePoint) -> Double { (a - b).length }
    func dot(_ other: PlanePoint) -> Double { x * other.x + y * other.y }
    func cross(_ other: PlanePoint) -> Double { x * other.y - y * other.x }

    /// The vertices of the convex hull, without points on its edges, in order around it; fewer than three if all points
    /// lie on a line.
    /// - Parameter points: in the order of their rows, from left to right in a row.
    static func hull(_ points: [PlanePoint]) -> [PlanePoint] {
        func chain(_ points: some Sequence<PlanePoint>) -> [PlanePoint] {
            var chain: [PlanePoint] = []
            for point in points {
                while chain.count > 1,
                    (chain[chain.count - 1] - chain[chain.count - 2]).cross(point - chain[chain.count - 1]) <= 0
                {
                    chain.removeLast()
                }
                if chain.last != point { chain.append(point) }
            }
            return chain
        }
        let first = chain(points), second = chain(points.reversed())
        return Array(first.dropLast() + second.dropLast())
    }
}
