<?php

declare(strict_types=1);

namespace App\Controller;

use Symfony\Bundle\FrameworkBundle\Controller\AbstractController;
use Symfony\Component\HttpFoundation\Response;
use Symfony\Component\Security\Http\Authentication\AuthenticationUtils;

final class LoginController extends AbstractController
{
    public function form(AuthenticationUtils $login): Response
    {
        return $this->render('login.html.twig', [
            'error' => $login->getLastAuthenticationError(),
            'name' => $login->getLastUsername(),
        ]);
    }
}
