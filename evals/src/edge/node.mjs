import { readFileSync } from "node:fs";
import { Behavior, BehaviorError } from "./behavior.mjs";
import { drive } from "./driver.mjs";

const task = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(drive(Behavior, BehaviorError, readFileSync("behavior.cbin"), task)));
