import { Request, Response, Router } from "express";
import { database } from "../database";
import { requireUser } from "../middleware/session";
import { Cart, CartLine, Product } from "../types";

const router = Router();
const MAXIMUM_LINES = 50;

export interface CartTotals {
  net: number;
  tax: number;
  gross: number;
}

export function totals(cart: Cart, taxRate: number): CartTotals {
  let net = 0;
  for (const line of cart.lines) {
    net += line.product.price * line.quantity;
  }
  const tax = Math.round(net * taxRate);
  return { net, tax, gross: net + tax };
}

router.get("/cart", requireUser, async (request: Request, response: Response) => {
  try {
    const cart = await database.carts.findOne({ user: request.user.id });
    if (!cart) {
      return response.status(404).json({ error: "There is no cart" });
    }
    return response.json({ cart, totals: totals(cart, request.user.taxRate) });
  } catch (error) {
    console.error(error);
    return response.status(500).json({ error: "The cart cannot be read" });
  }
});

router.post("/cart/lines", requireUser, async (request: Request, response: Response) => {
  try {
    const cart = await database.carts.findOne({ user: request.user.id });
    if (!cart) {
      return response.status(404).json({ error: "There is no cart" });
    }
    const product = await database.products.findById(request.body.product);
    if (!product) {
      return response.status(400).json({ error: "There is no such product" });
    }

    const line = cart.lines.find((each) => each.product.id === product.id);
    if (line) {
      line.quantity += request.body.quantity;
    } else if (cart.lines.length >= MAXIMUM_LINES) {
      return response.status(400).json({ error: "The cart is full" });
    } else {
      cart.lines.push({ product, quantity: request.body.quantity });
    }
    await database.carts.save(cart);
    return response.json({ cart });
  } catch (error) {
    console.error(error);
    return response.status(500).json({ error: "The cart cannot be changed" });
  }
});

router.delete("/cart/lines/:product", requireUser, async (request: Request, response: Response) => {
  try {
    const cart = await database.carts.findOne({ user: request.user.id });
    if (!cart) {
      return response.status(404).json({ error: "There is no cart" });
    }
    cart.lines = cart.lines.filter((each) => each.product.id !== request.params.product);
    await database.carts.save(cart);
    return response.json({ cart });
  } catch (error) {
    console.error(error);
    return response.status(500).json({ error: "The line cannot be removed" });
  }
});

export default router;
