/** Numbers as a person reads them. They arrive computed; here they only get digits and a unit. */

const grouped = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

export function digits(value: number): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e9 || size < 1e-4) return value.toExponential(3);
  if (size >= 10000) return grouped.format(value);
  return String(Number(value.toPrecision(4)));
}

export function withUnit(value: number, unit: string): string {
  if (unit === "B") return prefixed(value, 3).replace(/([kMG]?)$/, " $1B");
  return unit ? `${digits(value)} ${unit}` : digits(value);
}

const PREFIXES: [number, string][] = [
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
];

/** For the ticks of an axis: short, but not so short that neighbours read the same. */
export function tick(value: number): string {
  return prefixed(value, 4);
}

function prefixed(value: number, significant: number): string {
  const size = Math.abs(value);
  for (const [unit, prefix] of PREFIXES) {
    if (size >= unit && (unit > 1e3 || size >= 10000)) return `${Number((value / unit).toPrecision(significant))}${prefix}`;
  }
  return digits(value);
}

export function duration(seconds: number): string {
  if (!Number.isFinite(seconds) || seconds < 0) return "";
  if (seconds < 0.001) return `${digits(seconds * 1e6)} us`;
  if (seconds < 1) return `${Number((seconds * 1e3).toPrecision(3))} ms`;
  if (seconds < 60) return `${Number(seconds.toPrecision(3))} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${String(Math.round(seconds % 60)).padStart(2, "0")} s`;
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
}
